/**
 * How long something may take that the service promises within so many milliseconds. The long form holds it to that.
 * Where tests share their machine a thread may have to wait for its turn: there it is shown that it comes at all.
 */
export const promisedMs = (ms: number) => (process.env.TAPELINE_SOAK === undefined ? 20_000 + ms : ms)
