/**
 * How long something may take in a test that the service promises within this many milliseconds. The long form enforces
 * the promise. On a machine shared with other tests a thread may have to wait for its turn, so the test only shows
 * that it happens at all.
 */
export const promisedMs = (ms: number) => (process.env.TAPELINE_SOAK === undefined ? 20_000 + ms : ms)
