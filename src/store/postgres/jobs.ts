import type { Environment } from '../../core/environment.ts'
import type { Clock } from '../../kit/clock.ts'
import type { JobsStore } from '../jobs.ts'
import type { PostgresAddress } from './address.ts'
import { jobPlanning } from './jobs-plan.ts'
import { jobReading } from './jobs-read.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { jobSettling } from './jobs-settle.ts'
import { subscriptionRecords } from './jobs-subscriptions.ts'
import { openDatabase, schemaOf } from './open-database.ts'

export function openPostgresJobs({
  address,
  environment,
  clock,
}: {
  address: PostgresAddress
  environment: Environment
  clock: Clock
}): JobsStore {
  const schema = schemaOf(address, environment)
  const db = openDatabase({ address, schema, label: 'jobs', migrations: JOBS_MIGRATIONS, clock })
  const planning = jobPlanning(db)
  return {
    ...subscriptionRecords(db),
    ...planning,
    ...jobSettling(db),
    ...jobReading(db),
    async probe() {
      await planning.position()
    },
    close: () => db.close(),
  }
}
