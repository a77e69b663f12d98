package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// Rows of the tables at scale factor 1; lineitem has four rows per order on average.
const (
	ordersPerScale    = 1_500_000
	customersPerScale = 150_000
)

// schema has the shape of TPC-H's tables that the queries need.
var schema = []string{
	`CREATE TABLE customer (c_custkey bigint PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL, c_nationkey int NOT NULL,
		c_phone char(15) NOT NULL, c_acctbal numeric(15,2) NOT NULL, c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL)`,
	`CREATE TABLE orders (o_orderkey bigint PRIMARY KEY, o_custkey bigint NOT NULL, o_orderstatus char(1) NOT NULL, o_totalprice numeric(15,2) NOT NULL,
		o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL)`,
	`CREATE TABLE lineitem (l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL, l_linenumber int NOT NULL,
		l_quantity numeric(15,2) NOT NULL, l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL, l_tax numeric(15,2) NOT NULL,
		l_returnflag char(1) NOT NULL, l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
		l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber))`,
}

var (
	words = []string{"slow", "amber", "kettle", "walks", "under", "bright", "stone", "river", "quietly", "packs", "seven", "lanterns", "beside",
		"wooden", "gates", "while", "copper", "birds", "sleep", "again"}
	segments   = []string{"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"}
	priorities = []string{"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"}
	instructs  = []string{"COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"}
	modes      = []string{"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"}
)

// dates of days since 1992-01-01.
var dates = func() (d []string) {
	for t := time.Date(1992, 1, 1, 0, 0, 0, 0, time.UTC); t.Year() < 1999; t = t.AddDate(0, 0, 1) {
		d = append(d, t.Format(time.DateOnly))
	}
	return d
}()

const (
	lastOrderDay = 2405 // 1998-08-02
	currentDay   = 1263 // 1995-06-17
)

func text(r *rand.Rand, dst []byte, least, most int) []byte {
	n := least + r.IntN(most-least+1)
	at := len(dst)
	for len(dst)-at < n {
		dst = append(append(dst, words[r.IntN(len(words))]...), ' ')
	}
	dst = dst[:at+n]
	if dst[len(dst)-1] == ' ' {
		dst[len(dst)-1] = '.'
	}
	return dst
}

func cents(dst []byte, v int64) []byte {
	dst = strconv.AppendInt(dst, v/100, 10)
	return append(dst, '.', byte('0'+v/10%10), byte('0'+v%10))
}

func customers(w io.Writer, scale float64) error {
	out, r := bufio.NewWriter(w), rand.New(rand.NewPCG(1, 1))
	var c []byte
	for i := 1; i <= int(customersPerScale*scale); i++ {
		c = text(r, c[:0], 29, 116)
		fmt.Fprintf(out, "%d\tCustomer#%09d\t%s\t%d\t%02d-%03d-%03d-%04d\t%d.%02d\t%s\t%s\n", i, i, c[:10+r.IntN(15)], r.IntN(25), 10+r.IntN(25),
			100+r.IntN(900), 100+r.IntN(900), 1000+r.IntN(9000), r.IntN(10998)-999, r.IntN(100), segments[r.IntN(5)], c)
	}
	return out.Flush()
}

// orders writes the orders to o and their lines to l; either may be nil.
func orders(o, l io.Writer, scale float64) error {
	if o == nil {
		o = io.Discard
	}
	if l == nil {
		l = io.Discard
	}
	ow, lw := bufio.NewWriterSize(o, 64<<10), bufio.NewWriterSize(l, 64<<10)
	r := rand.New(rand.NewPCG(2, 2))
	var b, row []byte
	customers := max(1, int(customersPerScale*scale))
	parts := max(1, int(200_000*scale))
	for i := range int(ordersPerScale * scale) {
		key := int64(i/8*32 + i%8 + 1) // TPC-H uses 8 of 32 keys
		day := r.IntN(lastOrderDay)
		total, open, lines := int64(0), 0, 1+r.IntN(7)
		for n := 1; n <= lines; n++ {
			qty, disc, tax := int64(1+r.IntN(50)), int64(r.IntN(11)), int64(r.IntN(9))
			part := 1 + r.IntN(parts)
			price := qty * int64(90_000+part/10%20_001+100*(part%1000))
			total += price * (100 + tax) / 100 * (100 - disc) / 100
			ship := day + 1 + r.IntN(121)
			receipt := ship + 1 + r.IntN(30)
			flag, status := byte('N'), byte('O')
			if receipt <= currentDay {
				flag = "AR"[r.IntN(2)]
			}
			if ship <= currentDay {
				status = 'F'
			} else {
				open++
			}
			row = strconv.AppendInt(row[:0], key, 10)
			row = strconv.AppendInt(append(row, '\t'), int64(part), 10)
			row = strconv.AppendInt(append(row, '\t'), int64(1+r.IntN(max(1, parts/20))), 10)
			row = strconv.AppendInt(append(row, '\t'), int64(n), 10)
			row = cents(append(row, '\t'), qty*100)
			row = cents(append(row, '\t'), price)
			row = cents(append(row, '\t'), disc)
			row = cents(append(row, '\t'), tax)
			row = append(row, '\t', flag, '\t', status, '\t')
			row = append(append(row, dates[ship]...), '\t')
			row = append(append(row, dates[day+30+r.IntN(61)]...), '\t')
			row = append(append(row, dates[receipt]...), '\t')
			row = append(append(row, instructs[r.IntN(len(instructs))]...), '\t')
			row = append(append(row, modes[r.IntN(len(modes))]...), '\t')
			row = append(text(r, row, 10, 43), '\n')
			if _, err := lw.Write(row); err != nil {
				return err
			}
		}
		status := byte('P')
		switch open {
		case 0:
			status = 'F'
		case lines:
			status = 'O'
		}
		b = text(r, b[:0], 19, 78)
		_, err := fmt.Fprintf(ow, "%d\t%d\t%c\t%d.%02d\t%s\t%s\tClerk#%09d\t0\t%s\n", key, 1+r.IntN(customers), status, total/100, total%100, dates[day],
			priorities[r.IntN(5)], 1+r.IntN(1000), b)
		if err != nil {
			return err
		}
	}
	if err := ow.Flush(); err != nil {
		return err
	}
	return lw.Flush()
}
