// Package packaging proves what a release consists of besides the program: the steps of the
// GitHub Action in action.yml, the workflow in docs/ci that uses it and, with the build tag
// install, go install of a tagged version.
//
// The package has no code that ships, and nothing may import it.
package packaging
