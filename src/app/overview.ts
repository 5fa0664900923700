/** The first part of the operator's page. */
import type { Services } from '../api/endpoints/services.ts'
import type { Environment } from '../core/environment.ts'
import { formatTime } from '../core/time.ts'
import type { OverviewView } from '../dashboard/wire.ts'
import { readLastBackup } from '../store/backup/last-backup.ts'
import type { DiskUseService } from './disk-use.ts'

export function environmentOverviews(
  services: Partial<Record<Environment, Services>>,
): Promise<OverviewView['environments']> {
  const overviews = Object.values(services).map(async (its) => {
    const { environment, status, ingestion } = await its.status()
    const sum = (value: (source: (typeof ingestion)[number]) => number) =>
      ingestion.reduce((total, source) => total + value(source), 0)
    return {
      environment,
      status,
      sources: ingestion.length,
      gaps_24h: sum(({ gaps_24h }) => gaps_24h),
      audit: {
        checked: sum(({ audit }) => audit.checked),
        differences: sum(({ audit }) => audit.differences),
      },
      differing: ingestion.filter(({ audit }) => audit.differences > 0).map(({ source }) => source),
    }
  })
  return Promise.all(overviews)
}

export function diskOverview({ report, isLow }: DiskUseService): OverviewView['disk'] {
  const measured = report()
  if (measured === undefined) return null
  const { measuredAtMs, usedBytes, freeBytes, minFreeBytes, growthPerDay, fullAtMs, parts } = measured
  return {
    state: isLow() ? 'low' : 'ok',
    measured_at: formatTime(measuredAtMs),
    used_bytes: usedBytes,
    free_bytes: freeBytes,
    min_free_bytes: minFreeBytes,
    growth_bytes_per_day: growthPerDay,
    full_at: fullAtMs === null ? null : formatTime(fullAtMs),
    parts: parts.map(({ environment, part, rows, bytes, growthPerDay: growth }) => ({
      ...{ environment, part, rows, bytes, growth_bytes_per_day: growth },
    })),
  }
}

export function backupOverview(folder: string): OverviewView['backup'] {
  const { success, failure } = readLastBackup(folder)
  if (success === undefined && failure === undefined) return null
  return {
    taken_at: success === undefined ? null : formatTime(success.takenAtMs),
    to: success?.to ?? null,
    bytes: success?.bytes ?? null,
    failed_at: failure === undefined ? null : formatTime(failure.atMs),
    failure: failure?.reason ?? null,
  }
}
