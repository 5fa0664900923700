/** The storage port of what the operator tells customers: incidents and maintenance. */
export const NOTICE_KINDS = ['incident', 'maintenance'] as const
type NoticeKind = (typeof NOTICE_KINDS)[number]

export interface NoticeRecord {
  id: string
  kind: NoticeKind
  title: string
  text: string
  startsAtMs: number
  /** Null while the end is not known. */
  endsAtMs: number | null
  updatedAtMs: number
}

export interface NoticesStore {
  /** Writes a notice, or replaces the one with its id. */
  putNotice(notice: NoticeRecord): Promise<void>
  /** False where there is none. */
  deleteNotice(id: string): Promise<boolean>
  /** Those that have no end, or one after this time; the latest start first. */
  listNotices(query: { endAfterMs: number; limit: number }): Promise<NoticeRecord[]>
}
