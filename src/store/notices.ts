/** The storage port of the operator's notices to customers: incidents and maintenance. */
export const NOTICE_KINDS = ['incident', 'maintenance'] as const
type NoticeKind = (typeof NOTICE_KINDS)[number]

export interface NoticeRecord {
  id: string
  kind: NoticeKind
  title: string
  text: string
  startsAtMs: number
  /** Null while the end is unknown. */
  endsAtMs: number | null
  updatedAtMs: number
}

export interface NoticesStore {
  /** Writes a notice, replacing any with the same id. */
  putNotice(notice: NoticeRecord): Promise<void>
  /** False when there is no such notice. */
  deleteNotice(id: string): Promise<boolean>
  /** Notices without an end or with an end after this time, latest start first. */
  listNotices(query: { endAfterMs: number; limit: number }): Promise<NoticeRecord[]>
}
