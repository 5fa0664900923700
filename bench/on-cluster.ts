import { type Cluster, startCluster, withoutPrograms } from '../test/postgres/cluster.ts'
import type { Figure } from './frame.ts'

/** Figures on a separate PostgreSQL; without its programs there are none, and a line says so. */
export async function onCluster(measure: (cluster: Cluster) => Promise<Figure[]>): Promise<Figure[]> {
  if (withoutPrograms !== false) {
    process.stdout.write(`skipped: ${withoutPrograms}\n`)
    return []
  }
  const cluster = await startCluster()
  try {
    return await measure(cluster)
  } finally {
    await cluster.stop()
  }
}

/** The settings of a service that stores there. */
export function storedIn(store: string): Record<string, string> {
  return { TAPELINE_STORE: store, TAPELINE_SECRET: 'bench'.repeat(8) }
}
