function startReport(root) {
  "use strict";
  var PAGE = 200;
  root.querySelectorAll("table.all").forEach(function (table) {
    var section = table.closest("section"), body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
    var controls = section.querySelector(".controls"), search = section.querySelector(".search");
    var filter = section.querySelector(".filter"), found = section.querySelector(".found");
    var more = section.querySelector(".more"), shown = PAGE, sortedBy = -1, upward = true;
    var names = heads.map(function (head) { return head.textContent.trim(); });
    var data = Array.from(body.rows).map(function (line) {
      return {line: line, cells: Array.from(line.cells).map(function (cell) { return cell.textContent.trim(); })};
    });
    section.querySelectorAll("pre").forEach(function (block) {
      block.textContent.split("\n").forEach(function (text) {
        var parts = text.split("\t"), from = block.dataset;
        var cells = from.status ? [parts[0]].concat(names.indexOf("label") > 0 ? [from.actual] : [], [from.prediction],
          parts.slice(1), [from.status]) : parts;
        while (cells.length < heads.length) { cells.push(""); }
        data.push({line: null, cells: cells});
      });
    });
    data.forEach(function (row) { row.text = row.cells.join(" ").toLowerCase(); });

    function lineOf(row) {
      if (!row.line) {
        row.line = document.createElement("tr");
        row.cells.forEach(function (text, k) {
          var cell = document.createElement(k ? "td" : "th"), inside = document.createElement("bdi");
          inside.textContent = text;
          if (!k) { cell.scope = "row"; }
          cell.className = heads[k].className;
          if (names[k] === "status") { cell.className = text; }
          cell.appendChild(inside);
          row.line.appendChild(cell);
        });
      }
      return row.line;
    }
    function value(text) {
      var plain = text.replace(/−/g, "-").replace(/,/g, "").split("–")[0];
      return /^-?∞$/.test(plain) ? (plain[0] === "-" ? -Infinity : Infinity) : plain === "" ? NaN : Number(plain);
    }
    function compare(one, other) {
      var a = one.cells[sortedBy], b = other.cells[sortedBy], x = value(a), y = value(b);
      var less = isNaN(x) || isNaN(y) ? (isNaN(x) && isNaN(y) ? a.localeCompare(b) : isNaN(x) ? 1 : -1) : x - y;
      return upward ? less : -less;
    }
    function show() {
      var words = search.value.toLowerCase(), state = filter ? filter.value : "", where = names.indexOf("status");
      var chosen = data.filter(function (row) {
        return row.text.indexOf(words) >= 0 && (!state || row.cells[where] === state);
      });
      if (sortedBy >= 0) { chosen.sort(compare); }
      body.replaceChildren.apply(body, chosen.slice(0, shown).map(lineOf));
      more.hidden = chosen.length <= shown;
      found.textContent = chosen.length.toLocaleString("en") + " of " + data.length.toLocaleString("en") + " rows";
    }
    heads.forEach(function (head, k) {
      var button = document.createElement("button");
      button.type = "button";
      button.append.apply(button, Array.from(head.childNodes));
      head.appendChild(button);
      button.addEventListener("click", function () {
        upward = sortedBy === k ? !upward : true;
        sortedBy = k;
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", upward ? "ascending" : "descending");
        show();
      });
    });
    [search, filter].forEach(function (control) {
      if (control) { control.addEventListener("input", function () { shown = PAGE; show(); }); }
    });
    more.firstElementChild.addEventListener("click", function () { shown += PAGE; show(); });
    controls.hidden = false;
    show();
  });
  window.addEventListener("beforeprint", function () {
    root.querySelectorAll("details:not(.others)").forEach(function (each) { each.open = true; });
  });
}
