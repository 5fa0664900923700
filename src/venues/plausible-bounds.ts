/** Bounds within which a venue's times and numbers are believed; live/plausible.ts explains why and applies them. */
const HOUR_MS = 3_600_000

/** A time further ahead of our clock is a wrong time, not a clock difference. */
export const MAX_AHEAD_MS = 15_000
/** For data sent as it happens: a stalled network delivers late, and a new subscriber gets the last trades again. */
export const MAX_LATE_MS = HOUR_MS
/** For order books and figures, which have the time of their last change. */
export const MAX_AGE_MS = 7 * 24 * HOUR_MS
/**
 * Frames overtake each other by no more than this. Streamed data becomes final after a minute, so this must be less.
 */
export const MAX_OVERTAKEN_MS = 50_000
/** After this long without anything newer, the venue's clock was set back or the earlier number was wrong. */
export const SET_BACK_AFTER_MS = 30_000
/** One channel's number cannot grow by more than this step plus this rate times the elapsed seconds. */
export const MAX_NUMBER_STEP = 5_000
export const MAX_NUMBERS_PER_SECOND = 5_000
/** The same step for the frame numbers of one socket. */
export const MAX_SEQUENCE_STEP = 100_000
