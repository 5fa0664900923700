/** Backups of the configured store for commands; the outcome of the last one is written to the data folder. */
import type { BackupAccess } from '../cli/backup-commands.ts'
import { CommandError } from '../cli/command.ts'
import type { Config } from '../config/config.ts'
import type { Clock } from '../kit/clock.ts'
import { noteLastBackup } from '../store/backup/last-backup.ts'
import { BackupRefusedError } from '../store/backups.ts'
import { backupStore, checkBackups, listBackups, restoreStore } from '../store/open-stores.ts'
import { storeAddress } from './data-folder.ts'

export function backupAccess(
  config: Config,
  { clock, version }: { clock: Clock; version: string },
): BackupAccess {
  const { data, minFreeBytes } = config
  return {
    async backup({ to, keep, onProgress }) {
      const startedMs = clock.now()
      try {
        const done = await backupStore(storeAddress(config), {
          ...{ to, release: version, clock, minFreeBytes, onProgress },
          ...(keep === undefined ? {} : { keep }),
        })
        const { takenAtMs, bytes, addedBytes } = done
        const durationMs = clock.now() - startedMs
        noteSuccess(data, { takenAtMs, durationMs, to, bytes, addedBytes })
        return done
      } catch (error) {
        noteFailure(data, clock, error)
        return refused(error)
      }
    },
    list: (from) => listBackups(from).catch(refused),
    check: (from, onProgress) => checkBackups(from, onProgress).catch(refused),
    restore: ({ from, to, atMs, onProgress }) =>
      restoreStore(
        { to, dataFolder: data },
        { from, clock, onProgress, ...(atMs === undefined ? {} : { atMs }) },
      ).catch(refused),
  }
}

/**
 * Best effort: the backup is complete, but this machine may have no data folder, for example beside a database server.
 */
function noteSuccess(
  data: string,
  success: NonNullable<Parameters<typeof noteLastBackup>[1]['success']>,
): void {
  try {
    noteLastBackup(data, { success })
  } catch {
    // The service only fails to display this backup as the last one.
  }
}

/** Best effort: the command itself shows why it failed. */
function noteFailure(data: string, clock: Clock, error: unknown): void {
  try {
    const reason = error instanceof Error ? error.message : String(error)
    noteLastBackup(data, { failure: { atMs: clock.now(), reason } })
  } catch {}
}

function refused(error: unknown): never {
  if (error instanceof BackupRefusedError) throw new CommandError(error.message)
  throw error
}
