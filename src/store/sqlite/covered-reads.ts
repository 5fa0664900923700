/**
 * Rows together with the coverage and finality of their feeds. Either everything comes from memory, where blocks and
 * spans are stored under the epoch of the snapshot they were read in, or everything is read in one transaction.
 */
import type { Span } from '../coverage.ts'
import type { EnvironmentStore } from '../environment.ts'
import { pageSpan } from '../order/page-span.ts'
import type { Finality } from '../series.ts'
import { observedSpans } from '../spans/observed-spans.ts'
import type { CoverageReader } from './coverage-read.ts'
import type { LongReads } from './long-reads.ts'
import type { FeedLookup } from './series-lookup.ts'
import type { SeriesReader } from './series-read.ts'

export function coveredReads(parts: {
  reader: SeriesReader
  lookup: FeedLookup
  coverage: CoverageReader
  long: LongReads
}): Pick<EnvironmentStore, 'coveredPage' | 'coveredRow'> {
  const { reader, lookup, coverage, long } = parts
  const observed = observedSpans()

  const coverageOf = (
    finality: readonly Finality[],
    { from, to }: Span,
    end: number,
    { read }: CoverageReader = coverage,
  ) => observed.read(finality, from, Math.max(from, Math.min(to, end)), read)

  const pageInTurns: EnvironmentStore['coveredPage'] = async (query) => {
    const { feeds, coverageTo } = query
    const { page, ...rest } = await long.inOneState(query, async (own) => {
      const finality = own.lookup.finality(feeds)
      const page = await own.reader.pageInTurns(query)
      const covered = pageSpan(query, page)
      return {
        page,
        finality,
        covered,
        coverage: coverageOf(finality, covered, coverageTo, own.coverage),
      }
    })
    return { ...rest, page: 'finish' in page ? await page.finish() : page }
  }

  return {
    async coveredPage(query) {
      const { feeds, coverageTo, maxAgeMs } = query
      if (long.isFor(query)) return pageInTurns(query)
      const known = lookup.finality(feeds, maxAgeMs)
      const inMemory = reader.finalPage(query, known, 'give up')
      if (inMemory !== undefined) {
        const covered = pageSpan(query, inMemory)
        const found = observed.find(known, covered.from, Math.min(covered.to, coverageTo))
        if (found !== undefined) return { page: inMemory, finality: known, covered, coverage: found }
      }
      const found = reader.oneState(() => {
        const finality = lookup.finality(feeds)
        const page = reader.finalPage(query, finality, 'read') ?? reader.page(query)
        if (page === undefined) return undefined
        const covered = pageSpan(query, page)
        return { page, finality, covered, coverage: coverageOf(finality, covered, coverageTo) }
      })
      if (found === undefined) return pageInTurns(query)
      const { page, ...rest } = found
      return { ...rest, page: 'finish' in page ? await page.finish() : page }
    },
    coveredRow: async (query) =>
      reader.oneState(() => {
        const finality = lookup.finality(query.feeds)
        const row = reader.at(query)
        const covered = { from: row?.position.ts ?? query.coverageFrom, to: query.time + 1 }
        return { row, covered, coverage: coverageOf(finality, covered, query.coverageTo) }
      }),
  }
}
