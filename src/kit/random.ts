/** Random bytes are passed in, in the form of `randomBytes` of node:crypto, so that a simulation can repeat them. */
export type RandomBytes = (count: number) => Buffer
