/** Unpredictable bytes are passed in, as `randomBytes` of node:crypto gives them, so that a simulation can repeat them. */
export type RandomBytes = (count: number) => Buffer
