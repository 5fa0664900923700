import { ENVIRONMENTS } from '../../core/environment.ts'
import { ACCOUNTS_MIGRATIONS } from './accounts-schema.ts'
import type { PostgresAddress } from './address.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import { COORDINATION_MIGRATIONS } from './coordination-schema.ts'
import { ENVIRONMENT_MIGRATIONS } from './environment-schema.ts'
import { JOBS_MIGRATIONS } from './jobs-schema.ts'
import { type Label, sharedLabel } from './migrate.ts'
import { schemaOf } from './open-database.ts'

/** All groups of tables of an address, in the order in which they are created. */
export function storeLabels(address: PostgresAddress): Label[] {
  const { schema: shared } = address
  return [
    sharedLabel(shared),
    { schema: shared, label: 'accounts', migrations: ACCOUNTS_MIGRATIONS },
    { schema: shared, label: 'coordination', migrations: COORDINATION_MIGRATIONS },
    ...ENVIRONMENTS.flatMap((environment): Label[] => {
      const schema = schemaOf(address, environment)
      return [
        { schema, label: 'environment', migrations: ENVIRONMENT_MIGRATIONS },
        { schema, label: 'chain', migrations: CHAIN_MIGRATIONS },
        { schema, label: 'jobs', migrations: JOBS_MIGRATIONS },
      ]
    }),
  ]
}
