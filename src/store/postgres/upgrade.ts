import type { Upgrade, UpgradePlan } from '../maintain.ts'
import { planOf } from '../plan-upgrade.ts'
import type { PostgresAddress } from './address.ts'
import { connect, storeError } from './connection.ts'
import { storeLabels } from './labels.ts'
import { applyMigrations, NewerSchemaError, versionOf } from './migrate.ts'

/** Brings all tables to the newest version; changes nothing if some are newer than this release. */
export async function upgradeSchemas(address: PostgresAddress): Promise<Upgrade[]> {
  const { client } = await connect(address, [address.schema], { isUnlimited: true })
  try {
    const labels = storeLabels(address)
    for (const { schema, label, migrations } of labels) {
      const version = await versionOf(client, schema, label)
      if (version > migrations.length) throw new NewerSchemaError(label, version, migrations.length)
    }
    const done: Upgrade[] = []
    for (const each of labels) {
      const from = await applyMigrations(client, address.schema, each)
      done.push({ tables: `${each.schema}: ${each.label}`, from, to: each.migrations.length })
    }
    return done
  } catch (error) {
    throw storeError(error)
  } finally {
    await client.end()
  }
}

/** Changes nothing; services may run on the database. */
export async function planSchemaUpgrades(address: PostgresAddress): Promise<UpgradePlan[]> {
  const { client } = await connect(address, [address.schema])
  try {
    const plans: UpgradePlan[] = []
    for (const { schema, label, migrations } of storeLabels(address)) {
      const found = await versionOf(client, schema, label)
      const { rows } = await client.query<{ bytes: string }>(
        `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes
           FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = $1 AND c.relkind = 'r'`,
        [schema],
      )
      plans.push(planOf(`${schema}: ${label}`, { found, bytes: Number(rows[0]?.bytes), migrations }))
    }
    return plans
  } catch (error) {
    throw storeError(error)
  } finally {
    await client.end()
  }
}
