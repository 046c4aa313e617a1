import JSON

/// The members of an output line that the tests need.
struct OutputLine {
    var change = 0
    var causes: [Int] = []
    private(set) var collapseID = "?"

    init(_ line: String) throws {
        var parser = JSONParser()
        let bytes = Array(line.utf8)
        try bytes.withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            change = Int(json["change"]?.int64 ?? 0)
            if let list = json["causes"] { causes = list.elements.map { Int($0["sequence"]?.int64 ?? 0) } }
            collapseID = json["notificationInfo"]?["collapseIDKey"]?.string ?? "?"
        }
    }
}
