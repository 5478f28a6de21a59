import * as common from '@grafana/grafana-foundation-sdk/common';
import * as grafana from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as timeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { label, select } from './names.ts';
import { DOWNSTREAM, type PanelSpec, type Query } from './panel.ts';
import { CALL_ROWS } from './panels-calls.ts';
import { HOLDS, LANE_ROWS, PAUSES, THROTTLES } from './panels-lanes.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder is Grafana's.
const SOURCE: common.DataSourceRef = { type: 'prometheus', uid: '${datasource}' };
const GRAFANA: common.DataSourceRef = { type: 'grafana', uid: '-- Grafana --' };
const ROWS = [...CALL_ROWS, ...LANE_ROWS];
const HEIGHT = 8;
const STAT_HEIGHT = 4;

/** `config/grafana/penstock.json`: the classic model, which Grafana imports as it is. */
export function dashboardFile(): string {
  const built = dashboard();
  // The library puts every switch of an annotation into a menu; at 3 am they belong in sight.
  for (const one of built.annotations.list ?? []) delete one.placement;
  return `${JSON.stringify(built, null, 2)}\n`;
}

function dashboard(): grafana.Dashboard {
  const built = new grafana.DashboardBuilder('Penstock: calls and their downstreams')
    .uid('penstock')
    .description(
      'Waits, quotas, holds and refusals of every downstream. Generated: npm run sre. Runbook: docs/runbook.md.',
    )
    .tags(['penstock'])
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .timezone('browser')
    .tooltip(grafana.DashboardCursorSync.Crosshair)
    .editable()
    .version(1)
    .variables([sourceVariable(), ...variables()])
    .annotations(annotations());
  for (const row of ROWS) {
    built.withRow(new grafana.RowBuilder(row.title).id(row.id));
    for (const spec of row.panels) built.withPanel(panel(spec));
  }
  return built.build();
}

function sourceVariable(): grafana.DatasourceVariableBuilder {
  return new grafana.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus');
}

function variables(): grafana.QueryVariableBuilder[] {
  const chosen = 'job=~"$service"';
  return [
    variable('service', 'Service', `label_values(${select('inFlight')}, job)`),
    variable('instance', 'Process', `label_values(${select('inFlight', {}, '', chosen)}, instance)`),
    variable('downstream', 'Downstream', `label_values(${select('inFlight', {}, '', chosen)}, ${DOWNSTREAM})`),
  ];
}

/** All is `.*`, so that series without the label (a collector may leave out `instance`) are shown too. */
function variable(name: string, title: string, query: string): grafana.QueryVariableBuilder {
  return new grafana.QueryVariableBuilder(name)
    .label(title)
    .datasource(SOURCE)
    .query(query)
    .definition(query)
    .refresh(grafana.VariableRefresh.OnTimeRangeChanged)
    .sort(grafana.VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: ['All'], value: ['$__all'] });
}

function annotations(): grafana.AnnotationQueryBuilder[] {
  const own = new grafana.AnnotationQueryBuilder()
    .builtIn(1)
    .name('Annotations & Alerts')
    .datasource(GRAFANA)
    .enable(true)
    .hide(true)
    .iconColor('rgba(0, 211, 255, 1)')
    .type('dashboard');
  const cause = `{{${label('cause')}}}`;
  return [
    own,
    annotation('Holds', 'orange', HOLDS, `{{${DOWNSTREAM}}} held: ${cause}`),
    annotation('Pauses', 'red', PAUSES, `{{${DOWNSTREAM}}} paused`),
    annotation('429s', 'purple', THROTTLES, `429 from {{${DOWNSTREAM}}}`),
  ];
}

function annotation(name: string, color: string, expr: string, title: string): grafana.AnnotationQueryBuilder {
  return new grafana.AnnotationQueryBuilder()
    .name(name)
    .datasource(SOURCE)
    .enable(true)
    .iconColor(color)
    .expr(expr)
    .step('60s')
    .titleFormat(title)
    .tagKeys(`${DOWNSTREAM},${label('cause')}`);
}

function panel(spec: PanelSpec) {
  const built = visual(spec)
    .id(spec.id)
    .title(spec.title)
    .description(spec.description)
    .datasource(SOURCE)
    .unit(spec.unit)
    .height(spec.kind === 'stat' ? STAT_HEIGHT : HEIGHT)
    .span(spec.width)
    .targets(spec.queries.map((query, at) => target(spec, query, at)));
  if (spec.isPerDownstream === true) built.repeat('downstream').repeatDirection('h').maxPerRow(3);
  return built;
}

function target({ kind }: PanelSpec, { expr, legend }: Query, at: number): prometheus.DataqueryBuilder {
  const query = new prometheus.DataqueryBuilder()
    .datasource(SOURCE)
    .refId(String.fromCharCode(65 + at))
    .expr(expr)
    .editorMode(prometheus.QueryEditorMode.Code);
  if (kind === 'table') return query.instant().format(prometheus.PromQueryFormat.Table);
  if (kind === 'stat') return query.instant().legendFormat(legend);
  const format = kind === 'heatmap' ? prometheus.PromQueryFormat.Heatmap : prometheus.PromQueryFormat.TimeSeries;
  return query.range().format(format).legendFormat(legend);
}

/** What looks alike of all kinds is set by `panel`. */
function visual(spec: PanelSpec) {
  switch (spec.kind) {
    case 'lines':
      return new timeseries.PanelBuilder()
        .axisSoftMin(0)
        .fillOpacity(0)
        .showPoints(common.VisibilityMode.Never)
        .legend(legend())
        .tooltip(allValues());
    case 'bars':
      return new timeseries.PanelBuilder()
        .drawStyle(common.GraphDrawStyle.Bars)
        .fillOpacity(80)
        .min(0)
        .decimals(0)
        .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal))
        .legend(legend())
        .tooltip(allValues());
    case 'heatmap':
      return heat();
    case 'stat':
      return figure(spec);
    case 'table':
      return new table.PanelBuilder().withTransformation({
        id: 'organize',
        options: { excludeByName: { Time: true }, renameByName: { Value: 'processes' } },
      });
    case 'timeline':
      return states();
  }
}

function legend(): common.VizLegendOptionsBuilder {
  return new common.VizLegendOptionsBuilder()
    .displayMode(common.LegendDisplayMode.Table)
    .placement(common.LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(['lastNotNull', 'max']);
}

function allValues(): common.VizTooltipOptionsBuilder {
  return new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending);
}

function heat(): heatmap.PanelBuilder {
  return new heatmap.PanelBuilder()
    .calculate(false)
    .yAxis(new heatmap.YAxisConfigBuilder().unit('ms'))
    .cellValues(new heatmap.CellValuesBuilder().unit('short').decimals(0))
    .color(
      new heatmap.HeatmapColorOptionsBuilder()
        .mode(heatmap.HeatmapColorMode.Scheme)
        .scheme('Oranges')
        .scale(heatmap.HeatmapColorScale.Exponential)
        .exponent(0.5)
        .steps(64),
    );
}

function figure({ warnsFrom, alarmsFrom }: PanelSpec): stat.PanelBuilder {
  const steps: grafana.Threshold[] = [{ value: null, color: 'green' }];
  if (warnsFrom !== undefined) steps.push({ value: warnsFrom, color: 'orange' });
  if (alarmsFrom !== undefined) steps.push({ value: alarmsFrom, color: 'red' });
  const hasLimit = steps.length > 1;
  return new stat.PanelBuilder()
    .decimals(0)
    .graphMode(common.BigValueGraphMode.None)
    .colorMode(hasLimit ? common.BigValueColorMode.Background : common.BigValueColorMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .thresholds(new grafana.ThresholdsConfigBuilder().mode(grafana.ThresholdsMode.Absolute).steps(steps));
}

function states(): timeline.PanelBuilder {
  return new timeline.PanelBuilder().fillOpacity(80).mappings([
    {
      type: grafana.MappingType.ValueToText,
      options: { '0': { text: 'open', color: 'green', index: 0 }, '1': { text: 'paused', color: 'red', index: 1 } },
    },
  ]);
}
