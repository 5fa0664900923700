/** The initial heap of a process in MB: collecting garbage from the first megabyte on is a tenth of a file's cost. */
export const ROOMY = ['--initial-old-space-size=256', '--min-semi-space-size=8']
