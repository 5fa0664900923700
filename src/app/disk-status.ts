/** How the disk use is presented: in the status, and as metrics. */
import type { ServiceStatus } from '../api/endpoints/account/service-status.ts'
import type { Environment } from '../core/environment.ts'
import { formatTime } from '../core/time.ts'
import type { Metrics } from '../kit/metrics.ts'
import type { DiskPart, DiskReport, DiskUseService } from './disk-use.ts'
import { readMetrics } from './part-metrics.ts'

export function diskStatus(
  { report, isLow }: DiskUseService,
  environment: Environment,
): ServiceStatus['disk'] {
  const measured = report()
  const time = (atMs: number | null | undefined) => (atMs == null ? null : formatTime(atMs))
  return {
    state: isLow() ? 'low' : 'ok',
    measured_at: time(measured?.measuredAtMs),
    used_bytes: measured?.usedBytes ?? null,
    free_bytes: measured?.freeBytes ?? null,
    growth_bytes_per_day: measured?.growthPerDay ?? null,
    full_at: time(measured?.fullAtMs),
    parts: (measured?.parts ?? [])
      .filter((part) => part.environment === environment)
      .map(({ part, rows, bytes, growthPerDay }) => ({
        ...{ part, rows, bytes, growth_bytes_per_day: growthPerDay },
      })),
  }
}

/** Every process reports the metrics of the whole store, with the values of the process that measures. */
export function diskMetrics(metrics: Metrics, disk: DiskUseService): void {
  const whole =
    (value: (report: DiskReport) => number | null) => (): [Record<string, string>, number | null][] => {
      const report = disk.report()
      return report === undefined ? [] : [[{}, value(report)]]
    }
  const each = (value: (part: DiskPart) => number | null) => (): [Record<string, string>, number | null][] =>
    (disk.report()?.parts ?? []).map((part) => [
      { environment: part.environment ?? '', part: part.part },
      value(part),
    ])
  readMetrics(
    metrics,
    {},
    {
      tapeline_disk_bytes: {
        help: 'What a part of the store takes: a dataset, chain, webhooks, accounts.',
        read: each(({ bytes }) => bytes),
      },
      tapeline_disk_rows: {
        help: 'Rows of a part of the store, where they are counted.',
        read: each(({ rows }) => rows),
      },
      tapeline_disk_part_growth_bytes_per_day: {
        help: 'By how much a part of the store has grown in the last 24 hours.',
        read: each(({ growthPerDay }) => growthPerDay),
      },
      tapeline_disk_used_bytes: {
        help: 'What the whole store takes.',
        read: whole(({ usedBytes }) => usedBytes),
      },
      tapeline_disk_reusable_bytes: {
        help: 'Bytes of deleted rows inside of files, which the next rows take.',
        read: whole(({ reusableBytes }) => reusableBytes),
      },
      tapeline_disk_free_bytes: {
        help: 'Room on the disk of the store, where the disk is known.',
        read: whole(({ freeBytes }) => freeBytes),
      },
      tapeline_disk_min_free_bytes: {
        help: 'The floor: with less room, what can wait is not written.',
        read: whole(({ minFreeBytes }) => minFreeBytes),
      },
      tapeline_disk_growth_bytes_per_day: {
        help: 'By how much the whole store has grown in the last 24 hours.',
        read: whole(({ growthPerDay }) => growthPerDay),
      },
      tapeline_disk_full_timestamp_seconds: {
        help: 'When the disk will be full if it goes on like that; absent where it will not.',
        read: whole(({ fullAtMs }) => fullAtMs && fullAtMs / 1000),
      },
      tapeline_disk_low: {
        help: 'Whether there is less room than the floor.',
        read: () => [[{}, Number(disk.isLow())]],
      },
    },
  )
}
