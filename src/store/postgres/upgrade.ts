import type { Upgrade } from '../maintain.ts'
import type { PostgresAddress } from './address.ts'
import { connect, storeError } from './connection.ts'
import { storeLabels } from './labels.ts'
import { applyMigrations, NewerSchemaError, versionOf } from './migrate.ts'

/** Brings all tables to the newest version; nothing is changed where some are newer than this release. */
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
