import Testing

@testable import BelfryTool

struct SiblingProgramTests {
    @Test func `a program that was not built is unavailable`() throws {
        let folder = try TemporaryFolder()
        let failure = try #require(throws: ToolFailure.self) {
            try SiblingProgram("belfry-bench", beside: folder.path + "/belfry")
        }
        #expect(failure.status == .unavailable)
        let program = "\(folder.path)/belfry-bench"
        #expect(failure.message.hasPrefix("\(program) is missing or not executable; build it: swift build"))
        #expect(failure.message.hasSuffix(" --product belfry-bench"))
    }
}
