/** A line of the audit log: who did what. */
export interface AuditEntry {
  atMs: number
  /** Who acted: a user's e-mail, `command line` or `billing`. */
  actor: string
  /** What was done, for example `account.paused`. */
  action: string
  accountId: string | null
  /** What it was done to and how, in words. Never a secret. */
  detail: string
}
