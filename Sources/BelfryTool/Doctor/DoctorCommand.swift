import ArgumentParser

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks for what is wrong with a pipeline, or will be, and says what to do.",
        discussion: """
              belfry doctor Pipelines/quickstart.yaml         reads, changes nothing: see belfry doctor pipeline --help
              belfry doctor apns Pipelines/production.yaml    asks APNs whether it would take the pushes
            """,
        subcommands: [PipelineDoctorCommand.self, APNsDoctorCommand.self],
        defaultSubcommand: PipelineDoctorCommand.self)
}

struct PipelineDoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipeline",
        abstract:
            "Looks at a pipeline's file, data, logs, health and subscriptions. `belfry doctor FILE` does the same.",
        discussion: """
            Reads and changes nothing; works beside a running pipeline and without one. Checks, in this order:

              file           the pipeline file, with every stage's settings
              data           the data folder: can it be written, is there room, is it open to others?
              logs           is each there, and whole at its end? dead letters?
              health         does every stage answer, if any does?
              subscriptions  which can no index narrow? which can never match?
              apps           from which does a transport take nothing until something is mended?

            A subscription that no index narrows is looked at for every change of its record type. Those that are alike \
            are one finding, with the reason and what to write instead; up to 100 in one place are a note, more are a \
            warning. `belfry log verify` reads the whole logs, not their ends alone.

              belfry doctor Pipelines/quickstart.yaml
              belfry doctor Pipelines/quickstart.yaml --only subscriptions
              belfry doctor out                           a folder of logs
              belfry doctor Pipelines/quickstart.yaml --json | jq 'select(.fix)'

            One finding a line as JSON in a pipe: check, severity (ok, note, warning, error), code, text, fix and what \
            belongs to the code. Exits with 0 when all is well, with 1 after a warning or an error.
            """)

    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline: String

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @OptionGroup var keys: KeyOptions

    @Option(help: "Make this check alone; may be given several times.")
    var only: [String] = []

    @Flag(help: "Print JSON, also on a terminal, and all that was found.")
    var json = false

    static let checks: [any DoctorCheck] =
        [
            FileCheck(), DataCheck(), LogsCheck(), HealthCheck(),
        ] + StateCheck.all

    func validate() throws {
        let names = Self.checks.map(\.name)
        for name in only where !names.contains(name) {
            throw ValidationError("there is no check '\(name)'; there are: \(names.joined(separator: ", "))")
        }
    }

    func run() async throws {
        let patient = try Patient(pipeline, logs: logs, keys: keys.pair())
        var report = DoctorReport(isJSON: json || !StandardOutput.isTerminal, isColoured: StandardOutput.isTerminal)
        for check in Self.checks {
            guard only.isEmpty || only.contains(check.name) else { continue }
            for line in report.add(await Self.findings(of: check, patient), of: check.name) {
                try StandardOutput.write(line: line)
            }
        }
        if !report.isJSON { try StandardOutput.write(line: report.verdict) }
        if report.matters { throw ToolFailure(.no) }
    }

    /// What keeps one check from being made does not keep the others.
    private static func findings(of check: any DoctorCheck, _ patient: Patient) async -> [Finding] {
        do { return try await check.findings(in: patient) } catch {
            let reason = ToolFailure(explaining: error)?.message ?? "\(error)"
            return [Finding(.error, "\(check.name).unchecked", "cannot be checked: \(reason)")]
        }
    }
}

/// Findings in the order in which they are made, as lines.
struct DoctorReport {
    /// On a terminal, of each check.
    static let shownMax = 20

    let isJSON: Bool
    private let painter: Painter
    private var counts: [Finding.Severity: Int] = [:]

    init(isJSON: Bool, isColoured: Bool) {
        self.isJSON = isJSON
        painter = Painter(isColoured: isColoured && !isJSON)
    }

    var matters: Bool { counts.contains { $0.key.matters && $0.value > 0 } }

    /// - Returns: What to print.
    mutating func add(_ findings: [Finding], of check: String) -> [String] {
        for finding in findings { counts[finding.severity, default: 0] += 1 }
        if isJSON { return findings.map { $0.json(check) } }
        let lines = findings.prefix(DoctorReport.shownMax).flatMap { text($0, check) }
        let left = findings.count - DoctorReport.shownMax
        return left > 0 ? lines + [indent + "… and \(left.grouped) more: --json shows all"] : lines
    }

    /// The last line.
    var verdict: String {
        let counted = [Finding.Severity.error, .warning, .note].compactMap { severity in
            counts[severity].map { $0.of(severity.rawValue) }
        }
        if matters { return counted.joined(separator: ", ") }
        return counted.isEmpty ? "all is well" : "all is well; " + counted.joined(separator: ", ")
    }

    private let indent = String(repeating: " ", count: 24)

    private func text(_ finding: Finding, _ check: String) -> [String] {
        let head = painted(finding.severity) + check.padded(to: 15) + finding.text.withoutControls
        let fix = finding.fix.map { [indent + painter.bold("do: ") + $0.withoutControls] } ?? []
        return [head] + finding.lines.map { indent + $0.withoutControls } + fix
    }

    private func painted(_ severity: Finding.Severity) -> String {
        let word = severity.rawValue.padded(to: 9)
        return switch severity {
        case .ok: painter.green(word)
        case .note: painter.dim(word)
        case .warning: painter.bold(word)
        case .error: painter.red(word)
        }
    }
}
