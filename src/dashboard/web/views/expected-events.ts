import type { EventKind } from '../../../events/kinds.ts'
import type { ExpectedEventsView } from '../../wire.ts'
import { call } from '../api.ts'
import { KIND_INFO } from '../event-kinds.ts'
import { count, plural } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'

const BY_ADDRESSES = 'depends on the addresses'
const DAYS_PER_MONTH = 30

/** Events and cost of the chosen kinds per day, as text. */
export function useExpected(chosen: readonly string[], hasAddresses: boolean) {
  const { environment, session } = useSession()
  const { value } = useLoad(
    () => call<{ kinds: ExpectedEventsView[] }>('GET', `webhooks/${environment}/expected`),
    [environment],
  )
  const known = new Map(value?.kinds.map((one) => [one.kind, one]))
  const isByAddresses = (kind: EventKind) =>
    known.get(kind)?.basis === 'addresses' || (hasAddresses && KIND_INFO[kind].byAddress)

  const textOf = (kind: EventKind): string => {
    if (isByAddresses(kind)) return BY_ADDRESSES
    const expected = known.get(kind)
    if (expected === undefined) return '\u00a0'
    const { events_per_day: events, credits_per_day: credits } = expected
    if (events === null || credits === null) return 'not measured yet'
    if (events === 0) return 'none in the last minute'
    return `about ${count(events)} a day, ${plural(credits, 'credit')}`
  }

  const counted = chosen.filter((kind) => !isByAddresses(kind as EventKind))
  const sum = (field: 'events_per_day' | 'credits_per_day') =>
    counted.reduce((total, kind) => total + (known.get(kind)?.[field] ?? 0), 0)
  const credits = sum('credits_per_day')
  const perMonth = session.plan?.credits_per_month ?? 0
  const isTooMuch = credits * DAYS_PER_MONTH > perMonth
  return { textOf, isTooMuch, total: totalText() }

  function totalText(): string {
    if (chosen.length === 0) return 'Nothing is chosen yet: nothing is delivered, nothing is charged.'
    const rest = counted.length < chosen.length ? ', and what the addresses bring' : ''
    const day = `About ${plural(sum('events_per_day'), 'event')} and ${plural(credits, 'credit')} a day${rest}.`
    return isTooMuch
      ? `${day} That is ${count(credits * DAYS_PER_MONTH)} a month; the plan has ${count(perMonth)}.`
      : day
  }
}
