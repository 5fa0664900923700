/** How long recorded data is kept, and how much free space the disk must have. */
import { parseRetention, type RetentionRule, showRetention } from '../core/retention.ts'
import { byteSize, setting } from './setting.ts'

const rules = {
  allowed: 'rules such as trades=90d,candles.1s=180d,trades@perpdex=40d,*=forever',
  read: (value: string): readonly RetentionRule[] | undefined => {
    const read = parseRetention(value)
    return 'fault' in read ? undefined : read
  },
  fault: (value: string): string | undefined => {
    const read = parseRetention(value)
    return 'fault' in read ? read.fault : undefined
  },
  shown: showRetention,
}

export const RETENTION_SETTINGS = {
  retention: setting(
    'RETENTION',
    'For how long rows of the live environment are kept, by dataset, interval and source.',
    rules.read('liquidations=90d,*=forever') ?? [],
    rules,
  ),
  testRetention: setting(
    'TEST_RETENTION',
    'For how long rows of the test environment are kept, by dataset, interval and source.',
    rules.read('liquidations=7d,trades=3d,ticker=3d,snapshots=2d,candles.1s=2d,*=forever') ?? [],
    rules,
  ),
  minFreeBytes: setting(
    'MIN_FREE',
    'Room on the disk below which backfills, replays of webhooks and dead letters stop, so that recording can go on.',
    1e9,
    byteSize,
  ),
  diskBytes: setting(
    'DISK_SIZE',
    'Size of the disk of a PostgreSQL store, for the date when it will be full; the disk of a data folder is asked.',
    null,
    byteSize,
  ),
} as const
