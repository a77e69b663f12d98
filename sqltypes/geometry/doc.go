// Package geometry owns the arithmetic of PostgreSQL's geometric types: points,
// segments, lines, boxes, paths, polygons and circles in the plane, over float64.
//
// Comparisons of coordinates are PostgreSQL's fuzzy ones (Epsilon) wherever they are
// in PostgreSQL, and exact where they are exact there (geo_ops.c tells which; the
// difference can be seen). A fault of arithmetic (overflow, underflow, division by
// zero, an impossible request) is a panic with a *pgerror.Error that Guard turns into
// an error: a formula would otherwise be a page of checks. Nothing else panics.
package geometry
