// Package river is a middleware for River (github.com/riverqueue/river) workers:
// a job's effect becomes an operation, whose key is taken from the business and
// not from the job. However often River works the job, rescues it, or somebody
// inserts it again, there is one effect.
//
// It must not know how jobs are stored. Start reading at Middleware.
package river
