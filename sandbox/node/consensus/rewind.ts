/** A ledger as it was some time ago, for a node that lags. The later blocks are returned in order. */
import { Ledger } from './ledger.ts'
import type { Block } from './model.ts'
import { UtxoSet } from './utxo-set.ts'

export function rewind(ledger: Ledger, daaScore: bigint): { ledger: Ledger; later: Block[] } {
  const { records, chain, utxos, ...rest } = ledger.snapshot()
  const floor = ledger.record(ledger.pruningPoint)?.seq ?? 0
  const kept = records.filter((record) => record.daaScore <= daaScore || record.seq <= floor)
  const known = new Set(kept.map(({ hash }) => hash))
  const state = new UtxoSet()
  for (const [key, entry] of utxos) state.apply({ key, entry, created: true })
  const shorter = [...chain]
  for (let last = shorter.at(-1); last !== undefined && !known.has(last); last = shorter.at(-1)) {
    state.undo(ledger.record(last)?.acceptance?.log ?? [])
    shorter.pop()
  }
  const old = kept.map((record) => ({
    ...record,
    children: record.children.filter((child) => known.has(child)),
  }))
  const tips = old.filter((record) => record.children.length === 0).map(({ hash }) => hash)
  const before = new Ledger(ledger.rules, {
    ...rest,
    records: old,
    chain: shorter,
    utxos: [...state.entries()],
    tips,
  })
  return {
    ledger: before,
    later: records.flatMap(({ hash }) => (known.has(hash) ? [] : (ledger.record(hash)?.block ?? []))),
  }
}
