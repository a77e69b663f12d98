-- Many kinds of object, for the \d family of psql and for pg_dump.
CREATE ROLE psq_reader NOLOGIN;
CREATE ROLE psq_admin CREATEDB CREATEROLE LOGIN CONNECTION LIMIT 5;
GRANT psq_reader TO psq_admin;
COMMENT ON ROLE psq_admin IS 'administers';
CREATE SCHEMA app;
COMMENT ON SCHEMA app IS 'application';
GRANT USAGE ON SCHEMA app TO psq_reader;
CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'happy');
COMMENT ON TYPE app.mood IS 'how it is';
CREATE TYPE app.pair AS (a integer, b text);
CREATE DOMAIN app.posint AS integer CHECK (VALUE > 0);
CREATE DOMAIN app.email AS text COLLATE "C" NOT NULL DEFAULT 'x@y' CONSTRAINT has_at CHECK (VALUE LIKE '%@%');
CREATE SEQUENCE app.ticket AS integer START 5 INCREMENT 5 MINVALUE 5 MAXVALUE 1000 CYCLE;
CREATE TABLE app.people (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  mail app.email,
  age app.posint,
  feeling app.mood DEFAULT 'ok',
  born date,
  first_seen timestamptz DEFAULT now(),
  scores integer[],
  doc jsonb,
  full_name text GENERATED ALWAYS AS (name || '!') STORED,
  CONSTRAINT name_len CHECK (length(name) > 1),
  CONSTRAINT people_mail_key UNIQUE (mail)
);
COMMENT ON TABLE app.people IS 'who';
COMMENT ON COLUMN app.people.name IS 'given name';
CREATE TABLE app.pets (
  id serial PRIMARY KEY,
  owner integer REFERENCES app.people ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
  kind varchar(20) COLLATE "C" NOT NULL,
  weight numeric(6,2),
  UNIQUE (owner, kind)
);
CREATE INDEX pets_kind ON app.pets USING btree (kind DESC NULLS LAST) INCLUDE (weight);
CREATE INDEX people_lower ON app.people (lower(name)) WHERE age > 17;
CREATE INDEX people_hash ON app.people USING hash (name);
COMMENT ON INDEX app.people_hash IS 'hashed';
CREATE UNLOGGED TABLE public.scratch (k text PRIMARY KEY, v bytea);
CREATE VIEW app.adults AS SELECT id, name FROM app.people WHERE age >= 18 WITH LOCAL CHECK OPTION;
COMMENT ON VIEW app.adults IS 'grown up';
CREATE MATERIALIZED VIEW app.pet_count AS SELECT owner, count(*) AS n FROM app.pets GROUP BY owner;
CREATE UNIQUE INDEX pet_count_owner ON app.pet_count (owner);
CREATE FUNCTION app.add(a integer, b integer DEFAULT 1) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT a + b $$;
COMMENT ON FUNCTION app.add(integer, integer) IS 'adds';
CREATE FUNCTION app.list(OUT n integer, OUT t text) RETURNS SETOF record LANGUAGE sql STABLE AS $$ SELECT 1, 'one' UNION ALL SELECT 2, 'two' $$;
CREATE PROCEDURE app.clear(x integer) LANGUAGE sql AS $$ DELETE FROM app.pets WHERE id = x $$;
CREATE AGGREGATE app.total (integer) (SFUNC = int4pl, STYPE = integer, INITCOND = '0');
GRANT SELECT ON app.people TO psq_reader;
GRANT SELECT (id, kind), UPDATE (weight) ON app.pets TO psq_reader WITH GRANT OPTION;
REVOKE EXECUTE ON FUNCTION app.add(integer, integer) FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA app GRANT SELECT ON TABLES TO psq_reader;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
CREATE TYPE app.span AS RANGE (subtype = integer);
INSERT INTO app.people (name, mail, age, feeling, born, first_seen, scores, doc) VALUES
  ('Ann', 'ann@x', 30, 'happy', '1994-05-06', '2024-01-01 00:00:00+00', '{1,2,3}', '{"a": 1}'),
  ('Bob', 'bob@x', 12, 'sad', NULL, '2024-01-02 00:00:00+00', NULL, NULL);
INSERT INTO app.pets (owner, kind, weight) VALUES (1, 'cat', 4.2), (1, 'dog', NULL), (2, 'fish', 0.1);
INSERT INTO public.scratch VALUES ('k', '\xdeadbeef'), (E'tab\there', NULL);
REFRESH MATERIALIZED VIEW app.pet_count;
