import type { Clock } from '../kit/clock.ts'
import type { UsersStore } from '../store/users.ts'
import type { Accounts } from './accounts.ts'

export type AuditLog = ReturnType<typeof createAuditLog>

/** Records who did what, permanently. */
export function createAuditLog({ store, clock }: { store: UsersStore; clock: Clock }) {
  return {
    note: (entry: { actor: string; action: string; accountId: string | null; detail: string }) =>
      store.addAudit({ ...entry, atMs: clock.now() }),
    /** Newest first, below `before`. */
    list: (query: { limit: number; before?: number }) => store.listAudit(query),
  }
}

/** The same accounts, with every administrative act written to the audit log under the actor's name. */
export function auditedAccounts(accounts: Accounts, deps: { audit: AuditLog; actor: string }): Accounts {
  const note = (action: string, accountId: string | null, detail: string) =>
    deps.audit.note({ actor: deps.actor, action, accountId, detail })

  return {
    ...accounts,
    async create(input) {
      const account = await accounts.create(input)
      await note('account.created', account.id, `${account.email}, plan ${account.plan}`)
      return account
    },
    async setPlan(accountId, plan) {
      const before = await accounts.get(accountId)
      const account = await accounts.setPlan(accountId, plan)
      await note('account.plan', accountId, `${before.plan} → ${account.plan}`)
      return account
    },
    async pause(accountId, reason) {
      const account = await accounts.pause(accountId, reason)
      await note('account.paused', accountId, reason === 'operator' ? 'by the operator' : 'payment past due')
      return account
    },
    async resume(accountId) {
      const account = await accounts.resume(accountId)
      const still = account.pausedReason === null ? '' : 'still paused: payment past due'
      await note('account.resumed', accountId, still)
      return account
    },
    async setCredits(accountId, remaining, environments) {
      await accounts.setCredits(accountId, remaining, environments)
      await note('account.credits', accountId, `${remaining} left in ${environments?.join(', ') ?? 'both'}`)
    },
    async createKey(input) {
      const created = await accounts.createKey(input)
      const { id, environment, name } = created.record
      await note('key.created', input.accountId, `${id} (${environment}, ${name})`)
      return created
    },
    async revokeKey(keyId) {
      const before = await accounts.getKey(keyId)
      const key = await accounts.revokeKey(keyId)
      if (before.revokedAtMs !== null) return key
      await note('key.revoked', key.accountId, `${key.id} (${key.environment}, ${key.name})`)
      return key
    },
    async rotateKey(keyId, overlapMs) {
      const rotated = await accounts.rotateKey(keyId, overlapMs)
      await note('key.rotated', rotated.record.accountId, `${keyId} → ${rotated.record.id}`)
      return rotated
    },
  }
}
