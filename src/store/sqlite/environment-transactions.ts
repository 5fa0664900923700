import type { DatabaseSync } from 'node:sqlite'
import { refusalOf, type ThreadCall, type ThreadReply } from '../../kit/thread-calls.ts'
import { type Command, commandApplier } from './environment-commands.ts'
import { writeTransaction } from './open.ts'

export interface Committer {
  /**
   * Commits the first request and whatever `next` gives, in one transaction (group commit). A request that
   * fails is undone alone. The replies may be sent when this returns: everything acknowledged is committed.
   */
  commit(first: ThreadCall, next: () => ThreadCall | undefined): ThreadReply[]
}

/** A group is closed at this many rows, so that the write lock is never held long. */
const GROUP_ROWS = 10_000

export function committer(database: DatabaseSync): Committer {
  const applier = commandApplier(database)
  const dataVersion = database.prepare('PRAGMA data_version')
  let lastVersion = -1

  const undo = () => {
    database.exec('ROLLBACK TO one')
    applier.forget()
  }

  const applyAlone = (call: ThreadCall): ThreadReply => {
    const { id } = call
    const command = commandOf(call)
    database.exec('SAVEPOINT one')
    try {
      const result = applier.apply(command)
      database.exec('RELEASE one')
      return { id, value: result }
    } catch (error) {
      undo()
      const refused = command.kind === 'write' ? applier.faultyRows(command, error) : []
      undo()
      database.exec('RELEASE one')
      return refused.length > 0 ? { id, value: { refused } } : refusalOf(id, error)
    }
  }

  return {
    commit(first, next) {
      const group: ThreadCall[] = [first]
      try {
        return writeTransaction(database, () => {
          const version = Number(dataVersion.get()?.data_version)
          if (version !== lastVersion) applier.forget()
          lastVersion = version
          const replies = [applyAlone(first)]
          let rows = weight(commandOf(first))
          while (rows < GROUP_ROWS) {
            const request = next()
            if (request === undefined) break
            group.push(request)
            replies.push(applyAlone(request))
            rows += weight(commandOf(request))
          }
          return replies
        })
      } catch (error) {
        applier.forget()
        return group.map(({ id }) => refusalOf(id, error))
      }
    },
  }
}

/** The only argument of each call. */
function commandOf({ args }: ThreadCall): Command {
  return args[0] as Command
}

function weight(command: Command): number {
  if (command.kind === 'retain') return 100
  const { rows, coverage, markets } = command
  return rows.reduce((sum, packed) => sum + packed.count, coverage.length + markets.length)
}
