import ArgumentParser
import PipelineKit
import TransportAPNs

struct APNsDoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns",
        abstract: "Asks APNs whether it would take each app's pushes, and disturbs nobody.",
        discussion: """
            For each app of the pipeline's APNs transports: one request with an invented device token. APNs checks key, \
            team, topic, environment and clock first, so a refusal of the token says that these are right.

              belfry doctor apns Pipelines/production.yaml

            One finding an app, and one more for a certificate that ends within 30 days, as JSON in a pipe. Exits with 0 when all are right, else with 1.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @OptionGroup var output: JSONOption

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        let routes = try TransportRoute.all(in: checked).filter { $0.binding.kind == APNsTransport.kind }
        guard !routes.isEmpty else {
            throw ToolFailure(.configuration, "\(pipeline) sets up no APNs transport (use: apns)")
        }
        var report = DoctorReport(isJSON: output.isWanted, isColoured: StandardOutput.isTerminal)
        for route in routes {
            for line in report.add(await Self.findings(route), of: "apns") { try StandardOutput.write(line: line) }
        }
        if !report.isJSON { try StandardOutput.write(line: report.verdict) }
        if report.matters { throw ToolFailure(.no) }
    }

    private static func findings(_ route: TransportRoute) async -> [Finding] {
        do {
            let settings = try route.binding.settings.decode(APNsSettings.self)
            let context = TransportContext(name: route.binding.name, folder: route.folder) { _ in }
            return try await APNsProbe(settings, context: context).run().flatMap {
                [Finding($0)] + [$0.certificate.map(Finding.init)].compactMap(\.self)
            }
        } catch {
            return [
                Finding(
                    .error, "apns.unchecked", "transport \(route.binding.name): \(error)",
                    fix:
                        "see that the files it names are there, that keys are Apple's, and that you alone may read them"
                )
            ]
        }
    }
}

extension Finding {
    fileprivate init(_ certificate: EndingCertificate) {
        self.init(
            certificate.isOver ? .error : .warning, "apns.certificate", certificate.textWithApp,
            fix: certificate.remedy, ["app": .text(certificate.app ?? ""), "days": .count(certificate.days)])
    }

    fileprivate init(_ found: APNsProbe.Finding) {
        let said = [found.status.map(String.init), found.reason].compactMap { $0 }.joined(separator: " ")
        self.init(
            found.verdict == .good ? .ok : .error, "apns.\(found.verdict.rawValue)",
            "\(found.app): \(found.text) (\(said.isEmpty ? "no answer" : said))",
            fix: found.remedy,
            [
                "app": .text(found.app), "host": .text(found.host), "status": .count(found.status ?? 0),
                "reason": .text(found.reason ?? ""), "milliseconds": .number(found.took / .milliseconds(1)),
            ])
    }
}
