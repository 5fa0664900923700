import type { DatabaseSync } from 'node:sqlite'
import { type Command, type CommandResult, commandApplier } from './environment-commands.ts'
import { writeTransaction } from './open.ts'

export interface Request {
  id: number
  command: Command
}
export type Reply = { id: number; result: CommandResult } | { id: number; error: string }

export interface Committer {
  /**
   * Commits the first request and whatever `next` gives, in one transaction (group commit). A request that
   * fails is undone alone. The replies may be sent when this returns: everything acknowledged is committed.
   */
  commit(first: Request, next: () => Request | undefined): Reply[]
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

  const applyAlone = ({ id, command }: Request): Reply => {
    database.exec('SAVEPOINT one')
    try {
      const result = applier.apply(command)
      database.exec('RELEASE one')
      return { id, result }
    } catch (error) {
      undo()
      const refused = command.kind === 'write' ? applier.faultyRows(command, error) : []
      undo()
      database.exec('RELEASE one')
      if (refused.length > 0) return { id, result: { refused } }
      return { id, error: error instanceof Error ? error.message : String(error) }
    }
  }

  return {
    commit(first, next) {
      const group: Request[] = [first]
      try {
        return writeTransaction(database, () => {
          const version = Number(dataVersion.get()?.data_version)
          if (version !== lastVersion) applier.forget()
          lastVersion = version
          const replies = [applyAlone(first)]
          let rows = weight(first.command)
          while (rows < GROUP_ROWS) {
            const request = next()
            if (request === undefined) break
            group.push(request)
            replies.push(applyAlone(request))
            rows += weight(request.command)
          }
          return replies
        })
      } catch (error) {
        applier.forget()
        const message = error instanceof Error ? error.message : String(error)
        return group.map(({ id }) => ({ id, error: message }))
      }
    },
  }
}

function weight(command: Command): number {
  if (command.kind === 'retain') return 100
  const { rows, coverage, markets } = command
  return rows.reduce((sum, packed) => sum + packed.count, coverage.length + markets.length)
}
