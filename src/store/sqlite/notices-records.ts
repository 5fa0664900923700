import type { DatabaseSync } from 'node:sqlite'
import type { NoticeRecord, NoticesStore } from '../notices.ts'
import { slotOf, UPTIME_KEPT_MS, type UptimeSlot } from '../uptime.ts'
import { asRecord } from './rows.ts'

/** Rows of the operator's notices and of the minutes in which the service answered. */
export function noticeReaders(db: DatabaseSync) {
  const list = db.prepare(
    `SELECT id, kind, title, text, starts_at AS startsAtMs, ends_at AS endsAtMs, updated_at AS updatedAtMs
     FROM notices WHERE ends_at IS NULL OR ends_at > ? ORDER BY starts_at DESC, id LIMIT ?`,
  )
  const uptime = db.prepare('SELECT slot, minutes FROM uptime WHERE slot >= ? ORDER BY slot')
  return {
    listNotices: ({ endAfterMs, limit }: Parameters<NoticesStore['listNotices']>[0]) =>
      list.all(endAfterMs, limit).map(asRecord<NoticeRecord>),
    listUptime: (fromMs: number) => uptime.all(slotOf(fromMs).slot).map(asRecord<UptimeSlot>),
  }
}

export function noticeWriters(db: DatabaseSync) {
  const put = db.prepare(
    `INSERT OR REPLACE INTO notices (id, kind, title, text, starts_at, ends_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const remove = db.prepare('DELETE FROM notices WHERE id = ?')
  const mark = db.prepare(
    `INSERT INTO uptime (slot, minutes) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET minutes = minutes | excluded.minutes`,
  )
  const forget = db.prepare('DELETE FROM uptime WHERE slot < ?')
  return {
    putNotice: ({ id, kind, title, text, startsAtMs, endsAtMs, updatedAtMs }: NoticeRecord) =>
      void put.run(id, kind, title, text, startsAtMs, endsAtMs, updatedAtMs),
    deleteNotice: (id: string) => remove.run(id).changes > 0,
    markUp: (atMs: number) => {
      const { slot, minutes } = slotOf(atMs)
      mark.run(slot, minutes)
      forget.run(slotOf(Math.max(0, atMs - UPTIME_KEPT_MS)).slot)
    },
  }
}
