/** What the panels of `deploy/grafana/` ask for. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../deploy/grafana')

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly {
    readonly id: number
    readonly title: string
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
    readonly targets: readonly { readonly refId: string; readonly expr: string }[]
  }[]
}

export const dashboards = globSync('*.json', { cwd: FOLDER }).map((file) => ({
  file,
  ...(JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Dashboard),
}))

/** Expressions as Grafana sends them, with everything selected. */
export const panelExpressions = dashboards.flatMap(({ file, panels }) =>
  panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({
      panel: `${file}: ${title}`,
      expr: expr
        .replaceAll(/\$(instance|environment)\b/g, '.*')
        .replaceAll('$__rate_interval', '15m')
        .replaceAll(/\s+/g, ' '),
    })),
  ),
)

/** Names of metrics in an expression; parts of a histogram as the histogram. */
export function metricsIn(expr: string): string[] {
  return [...expr.matchAll(/\b(?:tapeline|process|nodejs)_\w+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  )
}
