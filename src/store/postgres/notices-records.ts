import type { NoticeRecord, NoticesStore } from '../notices.ts'
import { slotOf, UPTIME_KEPT_MS, type UptimeSlot, type UptimeStore } from '../uptime.ts'
import { type Database, statement } from './database.ts'
import { storable } from './texts.ts'

/** The operator's notices, and the minutes in which the service answered. */
const PUT = statement(
  'notice_put',
  `INSERT INTO notices (id, kind, title, text, starts_at, ends_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, title = excluded.title, text = excluded.text,
     starts_at = excluded.starts_at, ends_at = excluded.ends_at, updated_at = excluded.updated_at`,
)
const DELETE = statement('notice_delete', 'DELETE FROM notices WHERE id = $1')
const LIST = statement(
  'notice_list',
  `SELECT id, kind, title, text, starts_at AS "startsAtMs", ends_at AS "endsAtMs", updated_at AS "updatedAtMs"
   FROM notices WHERE ends_at IS NULL OR ends_at > $1 ORDER BY starts_at DESC, id LIMIT $2`,
)
const MARK = statement(
  'uptime_mark',
  `INSERT INTO uptime (slot, minutes) VALUES ($1, $2)
   ON CONFLICT (slot) DO UPDATE SET minutes = uptime.minutes | excluded.minutes`,
)
const FORGET = statement('uptime_forget', 'DELETE FROM uptime WHERE slot < $1')
const UPTIME = statement('uptime_list', 'SELECT slot, minutes FROM uptime WHERE slot >= $1 ORDER BY slot')

export function noticeRecords(db: Database): NoticesStore & UptimeStore {
  return {
    async putNotice({ id, kind, title, text, startsAtMs, endsAtMs, updatedAtMs }) {
      await db.run(PUT, [id, kind, storable(title), storable(text), startsAtMs, endsAtMs, updatedAtMs])
    },
    deleteNotice: async (id) => (await db.run(DELETE, [storable(id)])) > 0,
    listNotices: ({ endAfterMs, limit }) => db.rows<NoticeRecord>(LIST, [endAfterMs, limit]),
    async markUp(atMs) {
      const { slot, minutes } = slotOf(atMs)
      await db.run(MARK, [slot, minutes])
      await db.run(FORGET, [slotOf(Math.max(0, atMs - UPTIME_KEPT_MS)).slot])
    },
    listUptime: (fromMs) => db.rows<UptimeSlot>(UPTIME, [slotOf(fromMs).slot]),
  }
}
