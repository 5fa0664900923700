import type { Clock } from '../kit/clock.ts'
import type { Metrics } from '../kit/metrics.ts'
import { type LastBackup, readLastBackup } from '../store/backup/last-backup.ts'

/**
 * How old the newest backup is, and whether the last one failed; before the first one only that there is none.
 * @param isBackedUp whether the data folder has the databases of a live environment
 */
export function exportBackupMetrics(
  metrics: Metrics,
  { data, clock, isBackedUp }: { data: string; clock: Clock; isBackedUp: boolean },
): void {
  const gauge = (name: string, help: string, value: (last: LastBackup) => number | undefined) =>
    metrics.read({
      ...{ name, help, type: 'gauge' },
      values() {
        const found = value(readLastBackup(data))
        return found === undefined ? [] : [{ labels: {}, value: found }]
      },
    })
  gauge(
    'tapeline_backup_age_seconds',
    'Time since the instant of the newest backup.',
    ({ success }) => success && (clock.now() - success.takenAtMs) / 1_000,
  )
  gauge('tapeline_backup_failed', 'Whether the last backup failed: 1 or 0.', ({ success, failure }) =>
    success === undefined && failure === undefined ? undefined : failure === undefined ? 0 : 1,
  )
  gauge(
    'tapeline_backup_missing',
    'Whether no backup of a data folder with a live environment is known: 1 or 0.',
    ({ success }) => (isBackedUp ? Number(success === undefined) : undefined),
  )
  gauge('tapeline_backup_bytes', 'Bytes that the newest backup holds.', ({ success }) => success?.bytes)
}
