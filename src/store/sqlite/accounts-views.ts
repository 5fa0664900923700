import type { DatabaseSync } from 'node:sqlite'
import type { AccountsStore } from '../accounts.ts'

/** What each account viewed today: one row per account, which restarts from 0 every day. */
export function viewReaders(db: DatabaseSync) {
  const used = db.prepare('SELECT used FROM view_allowance WHERE account_id = ? AND day = ?')
  return {
    viewsOf: (accountId: string, day: string): number => Number(used.get(accountId, day)?.used ?? 0),
  }
}

export function viewWriters(db: DatabaseSync) {
  const { viewsOf } = viewReaders(db)
  const put = db.prepare('INSERT OR REPLACE INTO view_allowance VALUES (?, ?, ?)')
  return {
    takeView: ({ accountId, day, credits, limit }: Parameters<AccountsStore['takeView']>[0]) => {
      const before = viewsOf(accountId, day)
      if (before + credits > limit) return { taken: false, used: before }
      put.run(accountId, day, before + credits)
      return { taken: true, used: before + credits }
    },
  }
}
