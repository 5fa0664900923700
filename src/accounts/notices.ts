import { DAY_MS } from '../core/time.ts'
import type { Clock } from '../kit/clock.ts'
import type { RandomBytes } from '../kit/random.ts'
import type { NoticeRecord, NoticesStore } from '../store/notices.ts'
import { AccountsError } from './accounts.ts'

export type { NoticeRecord } from '../store/notices.ts'
export { NOTICE_KINDS } from '../store/notices.ts'

export type Notices = ReturnType<typeof createNotices>
export type NoticeInput = Omit<NoticeRecord, 'id' | 'updatedAtMs'>

export const NOTICE_LENGTH = { title: 120, text: 2_000 }
/** How long a notice is listed after its end. */
const LISTED_MS = 90 * DAY_MS
const MAX_LISTED = 200
/** How early planned maintenance is announced. */
const ANNOUNCED_MS = 7 * DAY_MS
const MAX_ANNOUNCED = 3

/** The operator's notices to customers: incidents and maintenance. */
export function createNotices(deps: { store: NoticesStore; clock: Clock; randomBytes: RandomBytes }) {
  const { store, clock, randomBytes } = deps
  const list = () => store.listNotices({ endAfterMs: clock.now() - LISTED_MS, limit: MAX_LISTED })
  const find = async (id: string) => {
    const found = (await list()).find((notice) => notice.id === id)
    if (found === undefined) throw new AccountsError(`There is no notice ${id}.`)
    return found
  }
  const put = async (notice: NoticeRecord) => {
    check(notice)
    await store.putNotice(notice)
    return notice
  }
  return {
    /** Planned, ongoing, and ended in the last 90 days; latest start first. */
    list,
    /** What a customer should know now: maintenance of the coming days, and whatever has begun and not ended. */
    async current(): Promise<NoticeRecord[]> {
      const nowMs = clock.now()
      const listed = await store.listNotices({ endAfterMs: nowMs, limit: MAX_LISTED })
      const isNear = ({ kind, startsAtMs }: NoticeRecord) =>
        startsAtMs <= (kind === 'maintenance' ? nowMs + ANNOUNCED_MS : nowMs)
      return listed.filter(isNear).slice(0, MAX_ANNOUNCED)
    },
    async create(input: NoticeInput): Promise<NoticeRecord> {
      if ((await list()).length >= MAX_LISTED) {
        throw new AccountsError(
          `At most ${MAX_LISTED} notices of the last 90 days are kept. Delete one first.`,
        )
      }
      return put({ ...input, id: `ntc_${randomBytes(10).toString('hex')}`, updatedAtMs: clock.now() })
    },
    async change(id: string, input: NoticeInput): Promise<NoticeRecord> {
      await find(id)
      return put({ ...input, id, updatedAtMs: clock.now() })
    },
    async delete(id: string): Promise<NoticeRecord> {
      const found = await find(id)
      await store.deleteNotice(id)
      return found
    },
  }
}

function check({ title, text, startsAtMs, endsAtMs }: NoticeInput): void {
  if (title.trim() === '' || title.length > NOTICE_LENGTH.title) {
    throw new AccountsError(`The title must have 1 to ${NOTICE_LENGTH.title} characters.`)
  }
  if (text.length > NOTICE_LENGTH.text) {
    throw new AccountsError(`The text may have ${NOTICE_LENGTH.text} characters.`)
  }
  if (endsAtMs !== null && endsAtMs <= startsAtMs) throw new AccountsError('The end lies before the start.')
}
