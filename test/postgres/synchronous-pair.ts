import { until } from '../until.ts'
import { type Cluster, startCluster } from './cluster.ts'

/** A server whose commits wait for its standby. */
export async function startSynchronousPair(): Promise<{ primary: Cluster; standby: Cluster }> {
  const primary = await startCluster()
  let standby: Cluster | undefined
  try {
    standby = await startCluster({ from: primary })
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.query('SELECT pg_reload_conf()')
    await until('the standby is synchronous', async () => {
      const rows = await primary.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
      return rows.length === 1
    })
    return { primary, standby }
  } catch (error) {
    await standby?.stop()
    await primary.stop()
    throw error
  }
}
