import type { ComponentChildren } from 'preact'

export interface Column<T> {
  /** Omitted for the buttons of a row. */
  title?: string
  /** Shown beside the value on a phone, if it differs from the title. */
  label?: string
  class?: string
  cell: (row: T) => ComponentChildren
}

/** On a phone every row is a separate block, in which each value has its label. */
export function Table<T>(props: {
  columns: readonly Column<T>[]
  rows: readonly T[]
  idOf: (row: T) => string | number
  /** Shown if there are no rows. */
  none?: ComponentChildren
  testId?: string
}) {
  const { columns, rows, idOf } = props
  return (
    <table class="stack" data-testid={props.testId}>
      <thead>
        <tr>
          {columns.map(({ title, class: name }) => (
            <th key={title} class={title && name}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.length === 0 && props.none && (
          <tr>
            <td colSpan={columns.length} class="muted">
              {props.none}
            </td>
          </tr>
        )}
        {rows.map((row) => (
          <tr key={idOf(row)} data-row={idOf(row)}>
            {columns.map(({ title, label = title, class: name, cell }) => (
              <td key={title} data-label={label} class={title === undefined ? 'actions' : name}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
