/** Turns a message into one that is readable but whose times are wrong by an offset, like a venue's mistake. */
const DAY_MS = 86_400_000
const MILLIS = /(?<=[:"[,])1[4-9]\d{11}(?=[",\]}])/g
const SECONDS = /(?<="ts":)1[4-9]\d{8}(?=[,}])/g

/** Undefined for a text without a time. */
export function wrongTime(text: string, offsetMs = DAY_MS): string | undefined {
  const moved = text
    .replace(MILLIS, (found) => String(Number(found) + offsetMs))
    .replace(SECONDS, (found) => String(Number(found) + Math.trunc(offsetMs / 1_000)))
  return moved === text ? undefined : moved
}
