import EventLog
import PipelineKit

/// Whether the pipeline file is right, as `belfry validate` sees it.
struct FileCheck: DoctorCheck {
    static let name = "file"

    func findings(in patient: Patient) throws -> [Finding] {
        if patient.isFolder { return [] }
        do {
            let checked = try CheckedPipeline(path: patient.place)
            try checked.checkKeys()
            let names = checked.file.stagesInOrder.map(\.name).joined(separator: ", ")
            return try [Finding(.ok, "file.valid", "\(patient.place) is valid: stages \(names)")]
                + checked.file.secretFileErrors().map { Self.finding(.warning, "file.secret", $0) }
                + checked.certificateWarnings(at: .wall()).map { Self.finding(.warning, "file.certificate", $0) }
        } catch let error as PipelineFileError {
            return error.errors.map { Self.finding(.error, "file.invalid", $0) }
        }
    }

    private static func finding(_ severity: Finding.Severity, _ code: String, _ error: SettingsError) -> Finding {
        Finding(
            severity, code, error.description,
            [
                "file": .text(error.file), "line": .count(error.line), "column": .count(error.column),
                "key": .text(error.keyPath),
            ])
    }
}
