import type { Services } from '../api/endpoints/services.ts'
import { isSource } from '../core/source.ts'
import type { StatusView } from '../dashboard/wire.ts'
import type { SourceCoverage } from './source-coverage.ts'

/** The status of an environment, with the last day of each dataset as a strip. */
export async function statusView(services: Services, coverage: SourceCoverage): Promise<StatusView> {
  const { ingestion, index: _index, ...rest } = await services.status()
  const sources = ingestion.map(async ({ coverage: shown, ...row }) => {
    const strips = isSource(row.source) ? await coverage(row.source) : []
    return { ...row, datasets: shown.map((one, at) => ({ ...one, strip: [...(strips[at]?.strip ?? [])] })) }
  })
  return { ...rest, sources: await Promise.all(sources) }
}
