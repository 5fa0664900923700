/** What is believed of a venue's times and numbers; why and how it is judged is in live/plausible.ts. */
const HOUR_MS = 3_600_000

/** A time that is further ahead of our clock is a wrong time, not a wrong clock. */
export const MAX_AHEAD_MS = 15_000
/** What is sent as it happens; a network that stalled delivers late, and a new subscriber gets the last trades again. */
export const MAX_LATE_MS = HOUR_MS
/** Books and figures have the time of their last change. */
export const MAX_AGE_MS = 7 * 24 * HOUR_MS
/** Frames overtake each other by no more than this. What is only streamed is final after a minute: it comes before. */
export const MAX_OVERTAKEN_MS = 50_000
/** If nothing else came for so long, the venue's clock was set back, or the number before was wrong. */
export const SET_BACK_AFTER_MS = 30_000
/** Numbers of one channel: further than this, and this much a second, the venue cannot have counted. */
export const MAX_NUMBER_STEP = 5_000
export const MAX_NUMBERS_PER_SECOND = 5_000
/** Numbers of the frames of one socket. */
export const MAX_SEQUENCE_STEP = 100_000
