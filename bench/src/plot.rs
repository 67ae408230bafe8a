//! Horizontal bars as SVG, written by hand.

use std::fmt::Write as _;

pub struct Bar {
    pub label: String,
    pub value: f64,
    pub shown: String,
    /// Of Foreman, and not of what it is compared with.
    pub is_ours: bool,
}

const WIDTH: usize = 900;
/// Where bars begin.
const LEFT: usize = 430;
const ROW: usize = 24;
const TOP: usize = 40;

pub fn bars(title: &str, bars: &[Bar]) -> String {
    let height = TOP + bars.len() * ROW + 12;
    let longest = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#111\">{}</text>\n",
        escaped(title)
    );
    for (place, bar) in bars.iter().enumerate() {
        let y = TOP + place * ROW;
        let width = (bar.value.max(0.0) / longest * (WIDTH - LEFT - 90) as f64).max(1.0);
        let colour = if bar.is_ours { "#2563eb" } else { "#9ca3af" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#111\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{}\" width=\"{width:.0}\" height=\"16\" fill=\"{colour}\"/>\
             <text x=\"{:.0}\" y=\"{}\" fill=\"#111\">{}</text>",
            LEFT - 8,
            y + 13,
            escaped(&bar.label),
            y + 1,
            LEFT as f64 + width + 6.0,
            y + 13,
            escaped(&bar.shown)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_the_width_and_text_is_escaped() {
        let bar = |label: &str, value| Bar { label: label.into(), value, shown: format!("{value}"), is_ours: false };
        let svg = bars("a & b", &[bar("x < y", 100.0), bar("half", 50.0)]);
        assert!(svg.contains("a &amp; b") && svg.contains("x &lt; y"));
        assert!(svg.contains("width=\"380\"") && svg.contains("width=\"190\""), "{svg}");
    }
}
