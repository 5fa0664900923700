const SAY_EVERY_MS = 60_000

/** Reports the first event at once, and then at most once a minute the number of events and the last one. */
export function nowAndThen<What>(say: (count: number, last: What) => void): (what: What) => void {
  let count = 0
  let last: What
  let saying: NodeJS.Timeout | undefined
  const sayNow = () => {
    saying = undefined
    if (count === 0) return
    say(count, last)
    count = 0
    saying = setTimeout(sayNow, SAY_EVERY_MS).unref()
  }
  return (what) => {
    count++
    last = what
    if (saying === undefined) sayNow()
  }
}
