import { UsageError } from './command.ts'
import { progressBar } from './progress-bar.ts'
import type { StoreCommand } from './store-commands.ts'

const MAX_SHARDS = 1_024

export const distribute: StoreCommand = {
  name: 'store distribute',
  about:
    'Spreads the big tables of a PostgreSQL store over the servers of Citus; may be stopped and run again.',
  options: {
    store: { about: 'postgres://user@host/database of the coordinator; left out: the configured one.' },
    shards: {
      about: 'Pieces of each table, and of each of its months; at most so many servers share it.',
      fallback: '32',
    },
  },
  async run({ values, output, stores }) {
    const shards = Number(values.shards)
    if (!Number.isInteger(shards) || shards < 1 || shards > MAX_SHARDS)
      throw new UsageError(`--shards must be a whole number from 1 to ${MAX_SHARDS}.`)
    const bar = progressBar()
    const tables = await stores.distribute(values.store, {
      shards,
      onProgress: ({ done, total, step }) => bar.show(done, total, step),
    })
    bar.end()
    output.print(
      tables.map(({ table, by, shards: pieces, before }) => ({
        table,
        by,
        shards: pieces,
        done: before ? 'nothing to do' : 'distributed',
      })),
      ['table', 'by', 'shards', 'done'],
    )
  },
}
