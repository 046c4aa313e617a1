import RecordStore

extension StoreSummary {
    /// `/srv/api/store.sqlite: 12 records in 3 zones at event 40, 96 kB`.
    var text: String {
        "\(path): \(records.of("record")) in \(zones.of("zone")) at event \(applied), \(byteText(bytes))"
    }

    var report: ReportValue {
        .object([
            "store": .text(path), "records": .count(records), "zones": .count(zones), "applied": .count(applied),
            "bytes": .count(bytes), "indexes": .list(indexes.map(\.report)),
        ])
    }

    var json: String { report.json }
}

extension StoreSummary.Index {
    /// `index Note.title in zone Notes (private _alice): ready`.
    var text: String {
        let state = isComplete ? "ready" : "\(Int(share * 100)) % made"
        return "index \(recordType).\(field) in zone \(zone) (\(database)): \(state)"
    }

    var report: ReportValue {
        .object([
            "recordType": .text(recordType), "field": .text(field), "database": .text(database), "zone": .text(zone),
            "share": .number(share),
        ])
    }
}
