import { type Static, Type } from 'typebox'
import { TIERS } from '../../../core/plan.ts'
import {
  constantsField,
  integerField,
  nullableOneOfField,
  nullableTimeField,
  textField,
} from '../../../core/rows/fields.ts'

const texts = (description: string) => Type.Array(Type.String(), { description })
const alwaysNull = Type.Null({ description: 'Always null.' })

const SourceRow = Type.Object({
  source: textField('Source identifier.'),
  display_name: textField('Name for people.'),
  label: textField('The same as display_name.'),
  symbols: texts('Supported symbols.'),
  intervals: texts('Supported candle intervals.'),
  tier_requirements: Type.Array(
    Type.Object({
      interval: textField('Candle interval.'),
      min_tier: nullableOneOfField('Lowest tier that may read it; null where no plan does.', ...TIERS),
    }),
    { description: 'Which tier each candle interval needs.' },
  ),
  endpoints: Type.Array(
    Type.Object({
      path: textField('Path, with the `source` query where it takes one.'),
      method: Type.Literal('GET', { description: 'Always GET.' }),
      description: textField('What it answers.'),
      min_tier: constantsField('Lowest tier that may call it.', TIERS),
      credits: textField('What it costs.'),
    }),
    { description: 'Endpoints that serve this source.' },
  ),
})

/** The contract requires every meta field except the count to be null. */
export const Sources = Type.Object({
  data: Type.Array(SourceRow, { description: 'The sources.' }),
  meta: Type.Object(
    {
      symbol: alwaysNull,
      source: alwaysNull,
      interval: alwaysNull,
      count: integerField('Number of sources.'),
      next_cursor: alwaysNull,
    },
    { description: 'The count; everything else is null.' },
  ),
})
export type SourcesBody = Static<typeof Sources>

const SymbolRow = Type.Object({
  symbol: textField('Ticker in upper case.'),
  name: textField('Name of the asset.'),
  sources: texts('Sources that cover it.'),
  intervals: texts('Candle intervals, over all sources.'),
  earliest_data: nullableTimeField('Time of the earliest data point; null before the first one is recorded.'),
})

export const Symbols = Type.Object({ symbols: Type.Array(SymbolRow, { description: 'The symbols.' }) })
export type SymbolsBody = Static<typeof Symbols>
