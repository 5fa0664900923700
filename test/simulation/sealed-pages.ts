/** Law 3: what was once served as final never changes. Remembers digests of final ranges and reads them again. */
import { createHash } from 'node:crypto'
import { type Feed, feedName } from '../../src/core/feed.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { Random } from './random.ts'

const PAGE_MS = 10 * 60_000
const MAX_REMEMBERED = 400

export function createSealedPages(reader: EnvironmentStore, feeds: readonly Feed[], random: Random) {
  const remembered = new Map<string, { feed: Feed; from: number; digest: string }>()

  async function digestOf(feed: Feed, from: number): Promise<string> {
    const page = await reader.series.page({
      feeds: [feed],
      range: { from, to: from + PAGE_MS },
      order: 'asc',
      limit: 100_000,
      separator: '\n',
    })
    const { gaps } = await reader.coverage.read([feed], from, from + PAGE_MS)
    return createHash('sha256').update(page.text).update(JSON.stringify(gaps)).digest('hex')
  }

  async function changed(): Promise<string[]> {
    const wrong: string[] = []
    for (const { feed, from, digest } of remembered.values())
      if ((await digestOf(feed, from)) !== digest)
        wrong.push(`3 ${feedName(feed)}: the sealed page at ${new Date(from).toISOString()} has changed`)
    return wrong
  }

  return {
    /** Remembers a final page of some feeds. */
    async look(): Promise<string[]> {
      for (const feed of feeds) {
        if (!random.chance(0.3) || remembered.size >= MAX_REMEMBERED) continue
        const [finality] = await reader.series.finality([feed])
        if (finality === undefined || !Number.isFinite(finality.before)) continue
        const newest = Math.floor(finality.before / PAGE_MS) - 1
        const from = (newest - random.int(0, 3)) * PAGE_MS
        const key = `${feedName(feed)} ${from}`
        if (from < 0 || remembered.has(key)) continue
        // A page with a gap is never sealed, because data found later may still close the gap.
        if (!(await reader.coverage.read([feed], from, from + PAGE_MS)).complete) continue
        remembered.set(key, { feed, from, digest: await digestOf(feed, from) })
      }
      return random.chance(0.2) ? changed() : []
    },
    judge: changed,
  }
}
